package metadata

import (
	"slices"
	"strings"
)

// technicalTags are the EXIF tags that describe the camera, the exposure, or the encoding of the
// file. The service and every image program read them from the file itself, so that a mapping
// without a rule for them loses nothing.
var technicalTags = []string{
	// the encoding of the image
	"BitsPerSample", "ColorSpace", "ComponentsConfiguration", "CompositeImage", "CompressedBitsPerPixel", "Compression", "ExifImageHeight",
	"ExifImageWidth", "ExifVersion", "FlashpixVersion", "Gamma", "ImageHeight", "ImageLength", "ImageWidth", "NativeDigest",
	"Orientation", "PhotometricInterpretation", "PixelXDimension", "PixelYDimension", "PlanarConfiguration",
	"PrimaryChromaticities", "ReferenceBlackWhite", "ResolutionUnit", "SamplesPerPixel", "TransferFunction", "WhitePoint",
	"XResolution", "YCbCrCoefficients", "YCbCrPositioning", "YCbCrSubSampling", "YResolution",

	// the exposure
	"ApertureValue", "BrightnessValue", "Contrast", "CustomRendered", "DigitalZoomRatio", "ExposureBiasValue",
	"ExposureCompensation", "ExposureIndex", "ExposureMode", "ExposureProgram", "ExposureTime", "FNumber", "Flash", "FlashEnergy",
	"FocalLength", "FocalLengthIn35mmFilm", "FocalLengthIn35mmFormat", "FocalPlaneResolutionUnit", "FocalPlaneXResolution",
	"FocalPlaneYResolution", "GainControl", "ISO", "ISOSpeed", "ISOSpeedRatings", "LightSource", "MaxApertureValue", "MeteringMode",
	"PhotographicSensitivity", "RecommendedExposureIndex", "Saturation", "SceneCaptureType", "SceneType", "SelfTimerMode",
	"SensingMethod", "SensitivityType", "Sharpness", "ShutterSpeedValue", "SpectralSensitivity", "StandardOutputSensitivity",
	"SubjectArea", "SubjectDistance", "SubjectDistanceRange", "SubjectLocation", "WhiteBalance",

	// the camera, its sensors and its software
	"Acceleration", "AmbientTemperature", "CameraElevationAngle", "CameraFirmware", "CameraSerialNumber", "DNGLensInfo",
	"HostComputer", "Humidity", "ImageEditingSoftware", "ImageNumber", "Lens", "LensID", "LensInfo", "LensMake", "LensModel",
	"LensSerialNumber", "LensSpecification", "Make", "MetadataEditingSoftware", "Model", "Pressure", "RAWDevelopingSoftware",
	"SerialNumber", "Software", "UniqueCameraModel", "WaterDepth",

	// times besides the capture date
	"CreateDate", "DateTimeDigitized", "ModifyDate", "OffsetTime", "OffsetTimeDigitized", "OffsetTimeOriginal",
	"SubSecTime", "SubSecTimeDigitized", "SubSecTimeOriginal", "TimeZoneOffset",

	// the receiver of the GPS coordinates
	"GPSDOP", "GPSDifferential", "GPSHPositioningError", "GPSMapDatum", "GPSMeasureMode", "GPSSatellites", "GPSStatus", "GPSVersionID",
}

// technicalPrefixes are the names that EXIF tags have in fields, in EXIF data and in XMP.
var technicalPrefixes = []string{"exif.", "xmp.tiff:", "xmp.exif:", "xmp.exifEX:", "xmp.aux:"}

// IsTechnical reports whether a field, such as exif.FNumber or xmp.tiff:Model, is technical EXIF
// data. Such a field is never reported as unmapped.
func IsTechnical(field string) bool {
	for _, prefix := range technicalPrefixes {
		if tag, found := strings.CutPrefix(field, prefix); found {
			return slices.Contains(technicalTags, tag)
		}
	}
	return false
}
